// Package ghapp is the bot's GitHub client: App tokens, one client per repository, and
// writes that can be repeated safely.
//
// A [Client] comes from [App.For] and has no access outside its repository: its token
// is limited to that repository and goes to no other host, not even across a redirect.
// Reads are retried on network errors and revalidated with GitHub each time, so they
// are never stale. Writes are sent once, one at a time and at least a second apart.
//
// Writes are intents: [Client.Perform] carries out a [Write] with its key as a hidden
// marker, and [Client.Find] reports whether an earlier attempt succeeded. The kind of
// an [Error] tells the caller to retry later, to report it, or to look first.
//
// No call of this package approves or merges a pull request.
package ghapp
