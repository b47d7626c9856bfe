-- list: the cursor to the next part of the members that there are, and one part
local part = call('SSCAN', K .. ':members', ARGV[2], 'COUNT', 1000)
return {'list', part[1], part[2]}
