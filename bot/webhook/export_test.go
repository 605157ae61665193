package webhook

// MaxBody is the largest delivery, for tests outside of the package.
const MaxBody = maxBody
