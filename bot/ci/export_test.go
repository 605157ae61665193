package ci

// Excerpt is for the tests.
var Excerpt = excerpt
