package log

import "time"

// costs is what was seen lately of how long appends take here. A batch costs what several single appends do: on one node it stages
// files of its own, about twelve times a sync on a quiet disk and far more on a busy one; in a cluster it costs about one.
type costs struct {
	single time.Duration // of one append among several at once
	batch  time.Duration // of a batch, which hardly depends on its size
	first  int           // how many appends a batch is taken to cost before one was seen
}

const (
	costOnOne      = 12
	costReplicated = 2
	leastForABatch = 2
)

func newCosts(replicated bool) costs {
	c := costs{single: 250 * time.Microsecond, first: costOnOne}
	if replicated {
		c.first = costReplicated
	}
	c.batch = time.Duration(c.first) * c.single
	return c
}

func (c *costs) worthABatch(n int) bool {
	return n >= leastForABatch && time.Duration(n)*c.single > c.batch
}

// wentAlone moves the cost of a batch a little towards what it first was taken for: a bad moment is forgotten, and a batch tried
// again.
func (c *costs) wentAlone(n int, took time.Duration) {
	c.single = nearer(c.single, took/time.Duration(n), 8)
	c.batch = nearer(c.batch, time.Duration(c.first)*c.single, 32)
}

func (c *costs) wentTogether(took time.Duration) { c.batch = nearer(c.batch, took, 4) }

func nearer(old, seen time.Duration, part int64) time.Duration {
	return old + (seen-old)/time.Duration(part)
}
