package nft

import "context"

// Cleanup deletes nearside's tables and returns the families that had one.
func (c *Conn) Cleanup(ctx context.Context) (removed []Family, err error) {
	for _, f := range Families {
		c.mu.Lock()
		exists, _, err := c.findTable(f)
		c.mu.Unlock()
		if err != nil {
			return removed, err
		}
		if !exists {
			continue
		}
		tx := &Transaction{Family: f}
		tx.deleteTable()
		if err := c.Apply(ctx, tx); err != nil {
			return removed, err
		}
		removed = append(removed, f)
	}
	return removed, nil
}
