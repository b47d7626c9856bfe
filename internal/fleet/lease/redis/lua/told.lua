-- told: who told of proxies last, and how often it was done
local teller, term, told = unpack(call('HMGET', META, 'teller', 'term', 'told'))
return {'told', teller or '', tonumber(term or 0), tonumber(told or 0)}
