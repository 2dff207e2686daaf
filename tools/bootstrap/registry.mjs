import { runNpm } from './common.mjs'

const RESPONSE_MS = 5000
/** Limits the whole ping. npm's own limit does not cover DNS, for example. */
const PING_MS = 10_000

/**
 * Pings the registry of the user's npm settings. Returns undefined if it responds, even with an HTTP error:
 * many private registries do not support ping. Otherwise returns why it cannot be used.
 */
export async function findRegistryProblem(lock) {
  const limits = ['--fetch-retries=0', `--fetch-timeout=${RESPONSE_MS}`]
  const ping = await runNpm(['ping', '--loglevel=notice', ...limits], {
    lock,
    onLine: () => {},
    timeoutMs: PING_MS,
  })
  if (ping.status === 0) return undefined
  const code = findErrorCode(ping.output)
  if (/^E[1-5]\d\d$/.test(code)) return undefined
  const registry = /PING (\S+)/.exec(ping.output)?.[1] ?? 'the package registry'
  if (ping.status === null) return `${registry} did not respond within ${PING_MS / 1000} s`
  if (ping.output.includes('network timeout'))
    return `${registry} did not respond within ${RESPONSE_MS / 1000} s`
  return `${registry} cannot be reached (${code})`
}

/** Returns the code of npm's error, or its first line if it has none. */
export function findErrorCode(output) {
  const code = /^npm (?:error|ERR!) code (\S+)/m.exec(output)?.[1]
  return code ?? output.trim().split('\n')[0]
}
