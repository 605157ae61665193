package command

import (
	"strings"
	"testing"
)

// What people write behind the command word while a request waits, by what it comes to.
const talked = `
approve
go right ahead | fire when ready | let it rip | sgtm | ack | makes sense | makes sense to me | no objections | no objection from me | no problem |
fine, whatever | blessed | do your thing | please proceed | pls go | carry on | continue | keep going | you're good | you are good to go | we're good
| that's fine | that is ok | thats ok i guess | looks okay to me | looks reasonable | seems legit | legit | perfect | correct | right | true | yes!!!
| YES | yes yes yes | yessss | yup yup | ya | yah | yea | of course | absolutely | definitely | for sure | sure sure | surely | alright then | oki |
okey | accepted | granted | confirmed | confirm | allow | allow it | allowed | permit it | authorize | authorized | ok boss | please do | please do so
| please do it | plz go | do eet | yolo | sí | si señor | claro que si | ja bitte | ja gerne | gerne | natürlich | klar | na klar | d'accord | bien
sûr | va bene | certo | tak | da | tamam | haan | theek hai | hai | はい | 好的 | 可以 | да | давай |
go for it | sure thing | ship it!! | go ahead | ok do it | ship it | sounds good | sounds good to me | works for me | fine by me | fine with me | all
good | all good from my side | yes please | yes, go ahead | yep, do it | sure, why not | be my guest | permission granted | green light | thumbs up |
I approve | I approve this | I agree | agreed | seems fine | looks safe | should be fine | good to go | let's go | let's do it | do it now | send it |
merci, vas-y | passt | alles klar | dale | ok for me | ok from my side | okidoki | cool | nice | awesome | great, thanks | 👍👍 | 👌👌 | 🚀🚀 | oui vas-y |
ja mach | jawohl | jupp | yessir | aye | aye aye | roger that | kk | k | y

deny
no!!! | no no | no thank you | no thx | no please | not ok | not okay | not good | not like this | not this one | not that | not on my watch | never
ever | no chance | negative | nay | thumbs down | dont do it | don't run it | do not run | do not run this | please do not | pls no | please no |
cancel please | decline | declined | disapprove | veto | I disagree | I object | I refuse | against | nein! | auf keinen fall | lieber nicht | non |
não | nee | 不要 | нет | not my call | not my decision |
nope | pls dont | do not do that | don't | please don't do that | no way | absolutely not | hell no | over my dead body | I don't like it | cancel |
cancel that | cancel the request | abort | abort mission | skip | skip it | skip this one | leave it | leave it alone | forget it | never mind |
nevermind | reject this | refuse | denied! | bad idea | that is a bad idea | this is wrong | wrong | hands off | better not | rather not | I'd rather
not | I would not do that | no no no | noooo | slow down | no idea | not clear to me | non merci | por favor no | nein danke | bitte nicht | n

wait
have at it | knock yourself out | I'm ok with this | I am fine with that | if you must | if you have to | you have my blessing | exactly | yesyes | by
all means | okie dokie | oke | c'est bon | I am against it | nicht jetzt | noch nicht | später | pas maintenant | ahora no | todavía no | いいえ | wait
wait wait | wait... | wait! | wait what | hold up | hold on a sec | hang on | one moment please | just a sec | just a minute | sec | in a bit | not
right now | ping me tomorrow | remind me later | I'm busy | busy | on vacation | out of office | I am not at my desk | need to check | need more info
| need more context | more info please | more details please | hmmm... | hmmmmmm | umm | idk | idc | up to you | your call | I can't decide this | too
risky | too dangerous | risky | scary |
wait | not yet | hold on | hmm | wait a minute | one sec | let me check with bob first | I'll look at it tomorrow | not now | not today please | not
before the release | I don't think so | not sure about this | make it so | you may | mach mal | thank you | maybe | maybe later | perhaps tomorrow |
later | after lunch | after the release | once CI is green | if the tests are green | when bob agrees | only if bob agrees | depends | depends on the
tests | as soon as the build is green | give me a minute | give me 5 min | let me think | let me see the diff first | I need to think about it | I
want to look at it first | we need to discuss this | I have to ask my boss | I'm on mobile, later | brb | afk | in a meeting | tbd | waiting for alice
| wait for alice | wait for the CI | wait until tomorrow | hold off | hold your horses | easy | patience | I don't know | dunno | I don't understand |
I don't get it | unclear | strange | interesting | lol | 😬 | 🤔 | 👀 | :thinking: | warte mal | moment | attends | espera

why
why the hell not | wait, why? | details? | context? | tldr? | what for | what exactly? | what does this command do | what does find do? | how long
does it take? | how many files? | which files exactly? | is it dangerous? | is it reversible? | is it only the pyc files? | will this break anything?
| will it affect prod? | does it need root? | does that run in a container? | where does it run? | who are you? | who can approve this? | who should
approve? | can I approve? | can I deny it? | may I see the diff? | can you show me the diff? | show me what it deletes | what are the alternatives? |
any alternatives? | is there another way? | do you really have to? | did you test it? | have you tried git clean? | are there backups? | is that a
joke? | are you kidding? | are you crazy? | srsly? | huh | eh? |
is this safe? | why? | what does it do? | why | Why does it need that? | what's this? | what would that delete? | which files? | are you sure? | are
you sure that is needed? | is it really necessary? | does this touch production? | what happens if I say no? | who asked for this? | huh? | ??? | ? |
what? | wtf | erm, what? | can you explain? | could you explain why? | please explain | explain | explain this please | can this be undone? | is there
a safer way? | why do you need to delete build? | why rm -rf build? | what is in build? | is build still needed? | why not | why not? | what is going
on here | what is this about? | how risky is it? | how bad can it be? | is that reversible? | will it delete my files? | does it delete anything else?
| do you really need this? | do I have to? | must this be? | was this asked for? | what command is that? | which command? | what do you want? | what
do you want to do? | what are you doing? | what's the reason? | any reason? | for what? | why now? | why me? | says who? | seriously? | really? | yes?
| no? | warum?

-
use git clean instead | fix the test | keep the build directory | why does the test fail? | only delete *.pyc | do it without rm | try again without
deleting | please run the tests first | first run the tests | no, use tabs | don't delete build | leave the build alone, just fix the greeting | also
tidy up | what is in config.yml? | can you use git clean instead? | could you do that without rm? | how about git clean? | why not use git clean? |
what if you use make clean? | wait, use git clean instead | hold on, fix the tests first | hmm, use tabs | not yet, add a test first | yes but use
tabs | ok, then fix the tests | instead of this, use make clean | please update the readme | add a changelog | now fix the greeting | stop using tabs
| explain the parser | check the docs | look at parser.go | I want you to use tabs | I want to keep the build folder | let me have a function for that
| rename it to foo | move it to src | delete only the pyc files | undo the last change | revert that change | make it faster | make it work on windows
| run it in a container | what does parse do? | why is the build red? | where is the config read? | how do I run the tests? | does the parser handle
tabs? | then do the docs | skip the tests | forget the docs, fix the code | never use tabs | don't use tabs | no tabs please | if the test fails, use
git clean | when done, push | after that fix the docs | tell bob the result | read the docs | read the file first | remove the file | delete the file | change
the command | answer the question in the issue | touch the file | check all files | only change the docs
`

// TestTalk: what only talks about a request is told from what is to be done instead.
func TestTalk(t *testing.T) {
	t.Parallel()
	shown := "abcd2345\nrm -rf build; find . -name '*.pyc' -delete\ndeletes a directory tree or many files"
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(talked), "\n\n") {
		want, texts, _ := strings.Cut(part, "\n")
		for text := range strings.SplitSeq(strings.ReplaceAll(texts, "\n", " "), " | ") {
			n++
			if got := Talk(text, shown); got != strings.Trim(want, "-") {
				t.Errorf("%q comes to %q, want %q", text, got, want)
			}
		}
	}
	if n < 200 {
		t.Errorf("there are %d texts", n)
	}
	for _, text := range []string{"", "leave it at one", "keep it as one line", "make it in two", "yes abcd2345", "wait" + strings.Repeat(" a while", 9), "why " + strings.Repeat("this ", 14) + "?", "is `make clean` in the docs of the repository that we vendored last year the same as this here?"} {
		if got := Talk(text, shown); got != "" {
			t.Errorf("%q comes to %q", text, got)
		}
	}
}
