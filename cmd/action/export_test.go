package action

// ParseOwner returns the run that signed a lease.
var ParseOwner = parseOwner
