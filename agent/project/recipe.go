package project

// Recipe is the way to build a container image from a Dockerfile of a repository. Paths are
// relative to its root.
type Recipe struct {
	Of      string // the file that names the Dockerfile
	File    string
	Text    string            // content of File
	Context string            // directory whose files the build may copy
	Target  string            // stage to build; "" means the last
	Args    map[string]string // build arguments
	Line    string            // the same as arguments of docker build
	Bases   []string          // images that it begins with or copies from
	Fetches bool              // the daemon itself fetches further files from the network
}
