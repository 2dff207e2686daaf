// Health check of a container: `node probe.cjs [healthz|readyz]` queries the health port of the service.
// Needed because the images have no curl or wget.
const page = process.argv[2] ?? 'healthz'

fetch(`http://127.0.0.1:${process.env.HEALTH_PORT}/${page}`, { signal: AbortSignal.timeout(5000) }).then(
  (response) => process.exit(response.ok ? 0 : 1),
  () => process.exit(1),
)
