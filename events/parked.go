package events

// Parked is a claim that intake couldn't read, kept sealed for a while so that somebody can look at it, have it taken in again, or
// discard it (spec 9.2). It is no event: nothing of it stands on a stream.
type Parked struct {
	ID           ID     `json:"parkedId"`
	Organisation string `json:"-"`
	Producer     string `json:"producer"`
	Code         string `json:"code"` // why it couldn't be read
	ParkedAt     Time   `json:"parkedAt"`
	ExpiresAt    Time   `json:"expiresAt"`
}
