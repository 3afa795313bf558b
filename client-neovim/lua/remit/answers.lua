-- How a question ended, in words. Pure.
local server = require('remit.server')

local M = {}

local ALLOWED = {
  once = 'allowed once', session = 'allowed for this session', edits = 'all edits of this session allowed',
  always = 'always allowed in this workspace', everywhere = 'always allowed in every workspace',
}
local SOMEBODY = {
  person = 'you', beforehand = 'an answer from the command line', standing_answer = 'an answer you gave before',
  review = 'the review of the work',
}
local EVENTS = {
  deadline = 'nobody answered in time', disconnected = 'the connection was lost', unavailable = 'nobody was there to ask',
  cancelled = 'the turn ended', withdrawn = 'one of its files was renamed, deleted or created',
}

--- How a question ended, and who or what ended it: `allowed once by you`.
function M.words(answer)
  local how = answer.decision == 'deny' and 'denied' or ALLOWED[answer.scope] or answer.decision
  local reason = server.known(answer.reason)
  if not reason and SOMEBODY[answer.by] then return ('%s by %s'):format(how, SOMEBODY[answer.by]) end
  return ('%s: %s'):format(how, reason or EVENTS[answer.by] or answer.by)
end

return M
