package kubernetes

// SetPageSize makes lists come in small pages.
func (p *Provider) SetPageSize(n int64) { p.pageSize = n }
