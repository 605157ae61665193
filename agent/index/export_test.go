package index

// For tests of another package.
var (
	Cut    = cut
	BlobOf = blobOf
)
