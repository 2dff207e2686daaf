import { runNpm } from './common.mjs'

const RESPONSE_MS = 5000
/**
 * The timeout of the whole ping. npm's own timeout does not cover DNS, for example. On a busy machine, npm
 * itself takes seconds to start.
 */
const PING_MS = 30_000

/**
 * Pings the registry that the user's npm settings name. Returns undefined if the registry responds. A
 * response with an HTTP error counts, because many private registries do not support ping. Otherwise returns
 * why the registry cannot be used.
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

/** Returns the code of npm's error, or the first line of the output if it has no code. */
export function findErrorCode(output) {
  const code = /^npm (?:error|ERR!) code (\S+)/m.exec(output)?.[1]
  return code ?? output.trim().split('\n')[0]
}
