// Health check of a container: `node probe.cjs [healthz|readyz]` asks the service's own health port, so that an image
// without curl or wget can be checked.
const page = process.argv[2] ?? 'healthz'

fetch(`http://127.0.0.1:${process.env.HEALTH_PORT}/${page}`, { signal: AbortSignal.timeout(5000) }).then(
  (response) => process.exit(response.ok ? 0 : 1),
  () => process.exit(1),
)
