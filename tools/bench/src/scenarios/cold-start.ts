import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  findNatsServer,
  freePort,
  natsReady,
  postgresReady,
  startNatsServer,
  startPostgres,
} from '@leadwire/embedded'
import type { Context } from '../context'
import { inFolder } from '../stack/in-folder'
import { startStack } from '../stack/start-stack'

/** `npm start` on an empty folder until everything serves, against PostgreSQL and nats-server alone until both answer. */
export const coldStart = async ({
  options,
  report,
  ground,
}: Pick<Context, 'options' | 'report' | 'ground'>): Promise<void> => {
  const nats = await findNatsServer(process.env)
  const ours: number[] = []
  const baseline: number[] = []
  // A first one of each fills the system's file cache.
  for (let round = 0; round <= options.rounds; round++) {
    const whole = await inFolder(ground, async (folder, inner) => {
      const stack = await startStack({ ground: inner, folder, npm: true })
      return stack.startedInMs
    })
    const alone = await inFolder(ground, (folder) => startServers(folder, nats))
    if (round === 0) continue
    ours.push(whole)
    baseline.push(alone)
  }
  report.ratio({
    what: 'npm start on an empty folder / PostgreSQL and NATS alone, until ready',
    ...{ ours, baseline, unit: 'ms', better: 'less', floor: 3, aim: 1.5 },
  })
}

const startServers = async (folder: string, binary: string): Promise<number> => {
  await mkdir(join(folder, 'nats'))
  const [postgresPort, natsPort] = await Promise.all([freePort(), freePort()])
  const startedAt = performance.now()
  const [postgres, nats] = await Promise.all([
    startPostgres({ dataDirectory: join(folder, 'postgres'), port: postgresPort, durable: true }),
    startNatsServer({ binary, directory: join(folder, 'nats'), port: natsPort, password: 'bench' }),
  ])
  await Promise.all([postgresReady(postgresPort), natsReady(natsPort)])
  const took = performance.now() - startedAt
  await Promise.all([postgres.stop(), nats.stop()])
  return took
}
