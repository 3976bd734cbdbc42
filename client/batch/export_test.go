package batch

// Parse reads one line.
var Parse = parse
