import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findPortProblem } from '../process/free-port'
import { writeJson } from '../process/replace-file'
import type { Supervised } from '../process/supervise'
import { isReady, whenServing } from '../process/when-serving'
import { stackTls } from '../tls/stack-tls'
import { checkSettings } from './check-settings'
import { createCrew } from './crew'
import { lockServers, openDataDirectory } from './data-directory'
import { createDemoLink, ensureDemoAccount } from './demo-account'
import { ensureDemoEndpoint, listEndpoints } from './demo-endpoint'
import { buildDevFile, type Running } from './dev-file'
import { recordProcesses, stopLeftovers } from './leftovers'
import type { Log } from './log'
import { renderQuickStart } from './quick-start'
import { ensureSecret } from './secret-file'
import { planServers, startServers } from './servers'
import {
  baseUrl,
  findPublicUrl,
  planServices,
  requireBuilt,
  type ServicePlan,
  startService,
} from './services'
import type { StackOptions } from './stack-options'
import { watchServices } from './watch-services'

type StackContext = {
  options: StackOptions
  env: NodeJS.ProcessEnv
  log: Log
  /** Prints the quick start when everything is ready. */
  print: (text: string) => void
  /** Stops the stack in order. */
  signal: AbortSignal
  /** Called with a function that kills all processes at once. */
  onKillSwitch: (killAll: () => void) => void
}

/** The debugger port of the gateway. The other services use the ports after it. */
const FIRST_INSPECTOR = 9229

const REASONS: Record<string, string> = {
  EADDRINUSE: 'another program listens there',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host does not exist',
}

/**
 * Runs the whole stack until `signal` aborts. Then stops gateways first, the other services next, and the
 * servers last.
 * @throws one clear message if the stack can't start
 */
export async function runStack(context: StackContext): Promise<void> {
  const { options, log, signal } = context
  requireBuilt()
  await checkSettings(options, context.env)
  const lock = await openDataDirectory(options.data)
  const files = nameStateFiles(options.data)
  let running: Running | undefined
  let writing = Promise.resolve()
  const crew = createCrew({
    log,
    onChange: () => {
      queueState().catch((error) => log.say(`can't write the state files: ${error.message}`))
    },
  })
  /**
   * Writes the state files when the writes before have ended. Two writes of a file at the same time fail,
   * because both use the same temporary file.
   */
  const queueState = (): Promise<void> => {
    writing = writing.then(writeState, writeState)
    return writing
  }
  const writeState = async () => {
    await recordProcesses(files.processes, crew.pids())
    if (running && !signal.aborted) await writeJson(files.dev, buildDevFile(running, crew.pids()))
  }
  const announce = async (complete: Running) => {
    if (signal.aborted) return
    running = complete
    await queueState()
    const endpoints = await listEndpoints(complete.demo, complete.base)
    context.print(renderQuickStart({ ...complete, endpoints }, options.data))
  }
  context.onKillSwitch(crew.killAll)

  try {
    const serversLock = await prepareStart(context, files)
    const aborted = signal.aborted ? undefined : once(signal, 'abort')
    // Does not wait for a download or a build if the user stops the stack.
    await Promise.race([startAll({ ...context, lock: serversLock }, crew, files).then(announce), aborted])
    await aborted
    log.say('stopping')
  } finally {
    await rm(files.dev, { force: true })
    const isServer = (name: string) => ['postgres', 'nats', 'minio'].includes(name)
    await crew.stop((name) => name.startsWith('gateway'))
    await crew.stop((name) => !isServer(name))
    await crew.stop(isServer)
    await writing.catch(() => {})
    await rm(files.processes, { force: true })
    lock.release()
  }
}

function nameStateFiles(data: string) {
  const file = (name: string) => join(data, name)
  return { dev: file('dev.json'), demo: file('demo.json'), processes: file('processes.json') }
}

/** Returns whether only programs on this machine can reach a URL. */
function isLoopback(url: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(url).hostname)
}

/**
 * Stops leftovers of an earlier start, and checks that the port is free. Returns the lock over the servers'
 * data.
 */
async function prepareStart(
  { options, log }: StackContext,
  files: ReturnType<typeof nameStateFiles>,
): Promise<{ fd: number }> {
  await rm(files.dev, { force: true })
  const leftovers = await stopLeftovers(files.processes, log.say)
  if (leftovers.length > 0) log.say(`stopped processes of an earlier start: ${leftovers.join(', ')}`)
  const serversLock = await lockServers(options.data)
  const problem = await findPortProblem(options.port, options.host)
  if (problem) {
    const isPort = problem === 'EADDRINUSE' || problem === 'EACCES'
    const otherPort = options.port < 1024 ? 3000 : options.port + 1
    const other = isPort ? `PORT=${otherPort}` : 'HOST=127.0.0.1'
    throw new Error(
      `can't listen on port ${options.port} of ${options.host}: ${REASONS[problem] ?? problem}. Choose another: ${other} npm start`,
    )
  }
  return serversLock
}

async function startAll(
  { options, env, log, signal, lock }: StackContext & { lock: { fd: number } },
  crew: ReturnType<typeof createCrew>,
  files: ReturnType<typeof nameStateFiles>,
): Promise<Running> {
  await mkdir(join(options.data, 'files'), { recursive: true, mode: 0o700 })
  const tls = options.tls ? await stackTls(join(options.data, 'tls')) : undefined
  const context = { crew, options, env, log, signal, lock, tls }
  const serverPlan = await planServers(context)
  const { servers } = serverPlan
  const base = baseUrl(options)
  const plans = await planServices({
    replicas: options.replicas,
    gateway: options,
    ...servers,
    mail: join(options.data, 'mail'),
    // The gateway is not ready until dev.json exists, because scripts poll /readyz and then read dev.json.
    readyMarker: files.dev,
    serviceToken: await ensureSecret(join(options.data, 'service-token')),
    encryptionKey: await ensureSecret(join(options.data, 'encryption-key')),
    tls: tls?.services,
    env: { ...env, WEBHOOK_ALLOW_HOSTS: env['WEBHOOK_ALLOW_HOSTS'] || '127.0.0.0/8,::1,localhost' },
  })
  if (options.inspect) {
    for (const [index, plan] of plans.entries())
      plan.env['NODE_OPTIONS'] = `${env['NODE_OPTIONS'] ?? ''} --inspect=127.0.0.1:${FIRST_INSPECTOR + index}`
  }
  signal.throwIfAborted()
  const started = startServers(context, serverPlan)
  let ready = 0
  const [copies] = await Promise.all([Promise.all(plans.map(runService)), ...Object.values(started)])
  signal.throwIfAborted()
  if (options.watch) await watchServices({ copies, log, signal })

  const grpc = plans.find(({ service }) => service === 'leads-service')?.grpc ?? ''
  const tokens = plans[0]!.env['SERVICE_TOKEN']!.split(',').slice(0, 1)
  const demo = await ensureDemoAccount({
    path: files.demo,
    grpc,
    tokens,
    tls: tls?.services,
    base,
    say: log.say,
  })
  const url = options.webhookUrl
  const complete = url === undefined ? demo : await ensureDemoEndpoint({ demo, path: files.demo, base, url })
  const publicUrl = findPublicUrl(env, options)
  const address = { grpc, tokens, tls: tls?.services }
  const target = { demo: complete, path: files.demo, consoleUrl: `${base}/console` }
  // The link signs anybody in who sees it, so it must work only on this machine.
  const signInUrl = isLoopback(publicUrl) ? await createDemoLink(address, target) : undefined
  return { base, publicUrl, demo: complete, signInUrl, plans, servers, tls: tls?.services }

  /**
   * Starts files-service after its store, and any other service at once. A service that is started before
   * PostgreSQL and NATS are ready waits for them.
   */
  async function runService(plan: ServicePlan): Promise<{ plan: ServicePlan; member: Supervised }> {
    if (plan.service === 'files-service') await started.store
    const member = crew.add(plan.name, () => startService(plan, log.forProcess(plan.name)))
    await Promise.all(Object.values(started))
    await whenServing(member, () => isReady(plan.health, 'ready marker'), { timeoutMs: 120_000, signal })
    ready += 1
    if (!signal.aborted) log.say(`${plan.name} is ready (${ready} of ${plans.length} services)`)
    return { plan, member }
  }
}
