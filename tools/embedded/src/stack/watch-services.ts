import { watch } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { repositoryRoot } from '../paths'
import type { Supervised } from '../process/supervise'
import { isReady, whenServing } from '../process/when-serving'
import type { Log } from './log'
import { type ServiceName, type ServicePlan, serviceNames } from './services'

/** The exports of tools/bundle.mjs that are used here. */
type Bundler = {
  createRebundler(folder: string): Promise<() => Promise<{ changed: boolean; folders: Set<string> }>>
}

/** The delay after a change, because editors change a file in several steps. */
const QUIET_MS = 30

type Context = { copies: { plan: ServicePlan; member: Supervised }[]; log: Log; signal: AbortSignal }

/** Bundles services when their sources change, and restarts them if their program has changed. */
export async function watchServices(context: Context): Promise<void> {
  const bundler: Bundler = await import(pathToFileURL(join(repositoryRoot, 'tools/bundle.mjs')).href)
  await Promise.all(serviceNames.map((service) => watchService(service, bundler, context)))
  context.log.say('watching the sources of the services')
}

async function watchService(
  service: ServiceName,
  { createRebundler }: Bundler,
  { copies, log, signal }: Context,
): Promise<void> {
  const rebundle = await createRebundler(join(repositoryRoot, 'apps', service))
  const watched = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let updating = Promise.resolve()

  const onChange = () => {
    clearTimeout(timer)
    const savedAt = performance.now()
    timer = setTimeout(() => {
      updating = updating.then(() => update(savedAt)).catch((error: Error) => log.say(error.message))
    }, QUIET_MS)
  }
  const update = async (savedAt: number) => {
    const isFirst = watched.size === 0
    const { changed, folders } = await rebundle()
    for (const folder of folders) {
      if (watched.has(folder)) continue
      watched.add(folder)
      watch(folder, { persistent: false }, onChange)
    }
    if (signal.aborted) return
    if (!changed) {
      if (!isFirst) log.say(`the program of ${service} did not change`)
      return
    }
    log.say(`${service} changed and is restarting`)
    const own = copies.filter(({ plan }) => plan.service === service)
    await Promise.all(
      own.map(async ({ plan, member }) => {
        // Kills the process, because a debugger would block an orderly stop.
        await member.restart()
        await whenServing(member, () => isReady(plan.health), { timeoutMs: 20_000, signal })
        const tookMs = Math.round(performance.now() - savedAt)
        if (!signal.aborted) log.say(`${plan.name} is ready, ${tookMs} ms after the change`)
      }),
    )
  }
  await update(performance.now())
}
