// `helm test` runs this program in a separate pod. It checks that the gateway serves requests, reaches all
// services, and refuses a request without a token.
const { GATEWAY_URL, HEALTH_URL } = process.env

const check = async (url, expected) => {
  const status = await fetch(url, { signal: AbortSignal.timeout(5000) }).then(
    (response) => response.status,
    (error) => error.cause?.code ?? error.message,
  )
  console.log(`${status === expected ? 'ok' : 'FAILED'}: ${url} responds ${status}, expected ${expected}`)
  return status === expected
}

Promise.all([
  check(`${GATEWAY_URL}/healthz`, 200),
  check(`${HEALTH_URL}/readyz`, 200),
  check(`${GATEWAY_URL}/leads`, 401),
]).then((results) => process.exit(results.every(Boolean) ? 0 : 1))
