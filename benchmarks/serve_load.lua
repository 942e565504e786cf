-- Load of serve_load.py for wrk: bodies of a file in turn, a pause after 503, counts of each status as JSON.
local RETRY_MILLISECONDS = 20
local bodies, next_body, refused = {}, 0, 0
local threads = {}
statuses = {} -- global: `done` reads it from each thread

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  for line in io.lines(arguments[1]) do
    bodies[#bodies + 1] = wrk.format("POST", nil, nil, line)
  end
end

function request()
  next_body = next_body % #bodies + 1
  return bodies[next_body]
end

function delay() -- after each response; wrk does not say of which connection, so as many pauses as refusals
  if refused == 0 then return 0 end
  refused = refused - 1
  return RETRY_MILLISECONDS
end

function response(status)
  statuses[status] = (statuses[status] or 0) + 1
  if status == 503 then refused = refused + 1 end
end

function done(summary)
  local counts = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("statuses")) do
      counts[#counts + 1] = string.format('"%d": %d', status, count)
    end
  end
  local errors = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  print(string.format('{"seconds": %f, "errors": %d, "statuses": {%s}}',
    summary.duration / 1e6, errors, table.concat(counts, ", ")))
end
