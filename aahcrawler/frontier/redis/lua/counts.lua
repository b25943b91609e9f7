-- Returns two flat lists of names and numbers: counts by kind and state, and URLs by reason.
return {call('HGETALL', OWN .. 'counts'), call('HGETALL', OWN .. 'reasons')}
