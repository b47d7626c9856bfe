-- list: the members that there are, from one place to another in their order
return {'list', unpack(call('ZRANGE', K .. ':all:0', ARGV[2], ARGV[3]))}
