package events

// ReadAny is what Read does with commits of another form than ours.
var ReadAny = readAny
