// Package ghapp is the bot's hand on GitHub: tokens of the app, one client
// for one repository, and writes that can be repeated safely.
//
// A [Client] comes from [App.For] and can do nothing outside its repository:
// its token is made for that repository alone and goes to no other host, not
// even across a redirect. Reads are repeated on errors of the network, and
// are revalidated with GitHub each time, so they are never stale. Writes are
// sent once, one at a time and at least a second apart.
//
// Writes are intents: [Client.Perform] carries out a [Write] with its key as
// a hidden marker, [Client.Find] says whether an earlier attempt did. An
// [Error] says whether to try later, to tell the person, or to look first.
//
// There is no call here that approves or merges a pull request.
package ghapp
