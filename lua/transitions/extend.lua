--- extend: active -> active
--- Renews a lease. Refused once the lease is lost: the job may be running elsewhere.
--- @arg   job_id     string
--- @arg   token      string
--- @arg   lease_ms   string
--- @reply ok | lease_missing | lease_lost
local leases = require("lib.leases")

return function(q, arg)
  -- check
  local refusal = leases.refusal(q, arg.job_id, arg.token)
  if refusal then
    return refusal
  end
  leases.look(q)

  -- write
  leases.extend(q, arg.job_id, arg.token, arg.lease_ms)
  return "ok"
end
