import { setTimeout as wait } from 'node:timers/promises'
import { poll } from '@leadwire/embedded'
import { WebSocket } from 'undici'
import type { Profile } from '../report/flame-graph'
import type { Stack } from '../stack/start-stack'

/** What the stack is started with, so that SIGUSR1 opens a service's inspector on a free port of its own. */
export const profilingEnv = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' }

const inspectors = new Map<number, string>()

/** Profiles one service while `work` runs. Its inspector stays open afterwards: profile last. */
export async function profile(
  stack: Stack,
  services: string[],
  work: () => Promise<unknown>,
): Promise<Record<string, Profile>> {
  const sessions = await Promise.all(
    services.map(async (name) => openSession(await inspectorOf(stack, name))),
  )
  for (const session of sessions) {
    await session.send('Profiler.enable')
    await session.send('Profiler.setSamplingInterval', { interval: 500 })
    await session.send('Profiler.start')
  }
  await work()
  const profiles: Record<string, Profile> = {}
  for (const [index, session] of sessions.entries()) {
    const { profile } = (await session.send('Profiler.stop')) as { profile: Profile }
    profiles[services[index]!] = profile
    session.close()
  }
  return profiles
}

/** The address of a service's inspector. Node says it on stderr, which the stack's log carries with the service's name. */
async function inspectorOf(stack: Stack, service: string): Promise<string> {
  const pid = (await stack.readDev()).services[service]!.pid
  const known = inspectors.get(pid)
  if (known) return known
  const logged = await stack.logSize()
  process.kill(pid, 'SIGUSR1')
  const pattern = new RegExp(`^${service} .*Debugger listening on (ws://\\S+)`, 'm')
  let address: string | undefined
  await poll(
    async () => {
      address = pattern.exec(await stack.logFrom(logged))?.[1]
      return address !== undefined
    },
    { what: `the inspector of ${service}`, timeoutMs: 10_000, everyMs: 100 },
  )
  inspectors.set(pid, address!)
  return address!
}

async function openSession(address: string) {
  const socket = new WebSocket(address)
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error(`no inspector at ${address}`)))
  })
  let calls = 0
  const waiting = new Map<number, (result: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown }
    waiting.get(id!)?.(result)
    waiting.delete(id!)
  })
  const send = async (method: string, params: object = {}): Promise<unknown> => {
    const id = ++calls
    const answer = new Promise((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    return Promise.race([
      answer,
      wait(60_000, undefined, { ref: false }).then(() => {
        throw new Error(`the inspector did not answer ${method}`)
      }),
    ])
  }
  return { send, close: () => socket.close() }
}
