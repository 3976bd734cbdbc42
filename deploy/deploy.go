// Package deploy holds what a deployment outside one process starts from: the configuration of a NATS cluster of three. It is Go so
// that tests start real servers from the very files that are handed out.
package deploy

import _ "embed"

//go:embed nats/cluster.conf
var clusterConf string

//go:embed nats/producers.conf
var producersConf string

// ClusterConf is the configuration of each node of the cluster. It names environment variables and includes producers.conf from
// its own folder.
func ClusterConf() string { return clusterConf }

// ProducersConf is the list of producers that ClusterConf includes: empty, with an example in a comment.
func ProducersConf() string { return producersConf }
