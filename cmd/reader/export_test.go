package reader

// Told is for the tests.
var Told = Wait.resultPage
