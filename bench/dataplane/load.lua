-- What wrk sends, by the word after "--", and what it has found, as one line of JSON.

function init(args)
  if args[1] == "close" then
    wrk.headers["Connection"] = "close"
  elseif args[1] == "upload" then
    wrk.method = "POST"
    wrk.body = string.rep("x", tonumber(args[2]))
  end
  request_made = wrk.format()
end

function request()
  return request_made
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\n{"seconds":%.6f,"requests":%d,"failed":%d,"p50":%.6f,"p99":%.6f,"p999":%.6f}\n',
    summary.duration / 1e6, summary.requests,
    e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1e6, latency:percentile(99) / 1e6, latency:percentile(99.9) / 1e6))
end
