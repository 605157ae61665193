package render

import "fmt"

// NoOther says that another repository, which the configuration names, cannot be read in a
// session. why completes the sentence.
func NoOther(name, why string) string {
	return fmt.Sprintf("I cannot work on this: `repositories` in `.github/agent.yml` names %s, but %s.", code(name), why)
}

// Reasons of [NoOther].
const (
	OtherUnlisted     = "the operator of this server does not allow that: it has to be listed in `policy.repositories` of the server's file"
	OtherNotInstalled = "my installation here reaches no repository of that name; if it was renamed, write its present name"
	OtherLessPublic   = "fewer can read it than this repository, and its text must not get into this thread"
	OtherUnasked      = "it is not public, and no account that may read it asked for this session"
	OtherEmpty        = "it has no commit yet"
)

// OtherUnreadable is the reason if the author of a request cannot read the repository.
func OtherUnreadable(login string) string {
	return fmt.Sprintf("%s cannot read it on GitHub", code(login))
}

// OtherWithoutRef is the reason if the repository lacks the configured branch or tag.
func OtherWithoutRef(ref string) string {
	return fmt.Sprintf("it has no branch and no tag %s", code(ref))
}

// Reasons why a session only reads a repository that `repositories` lets it change; each
// completes a sentence that begins with "only for reading because".
const (
	OtherReadByServer  = "the server's `policy.repositories` lists it without `write: true`"
	OtherPassed        = "its change goes on in an issue there, see above"
	OtherArchived      = "it is archived"
	OtherElsewhereRead = "it has another visibility than this repository"
	OtherOfFork        = "this pull request comes from a fork"
)

// OtherUnwritable is the reason if an account may not change the repository. It is one of
// [PartRefused], too.
func OtherUnwritable(login string) string {
	if login == "" {
		return "no account asked for this session"
	}
	return fmt.Sprintf("%s may not push there", code(login))
}
