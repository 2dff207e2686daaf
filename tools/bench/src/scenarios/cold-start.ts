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
import type { Options } from '../options'
import { createGround, type Ground } from '../process/ground'
import { ratioFigure } from '../report/figure'
import type { Report } from '../report/report'
import { startStack, temporaryFolder } from '../stack/start-stack'

type Times = { first: number[]; again: number[] }

/** `npm start` until everything serves, against PostgreSQL and nats-server alone until both answer. */
export async function coldStart({
  options,
  report,
  ground,
}: {
  options: Options
  report: Report
  ground: Ground
}): Promise<void> {
  // A first one of each fills the system's file cache.
  const ours: Times = { first: [], again: [] }
  const alone: Times = { first: [], again: [] }
  const nats = await findNatsServer(process.env)
  for (let round = 0; round <= options.rounds; round++) {
    const times = await inFolder(ground, async (folder, inner) => {
      const stacks: number[] = []
      for (let start = 0; start < 2; start++) {
        const stack = await startStack({ ground: inner, folder, npm: true })
        stacks.push(stack.startedInMs)
        await stack.stop()
      }
      return stacks
    })
    const bare = await inFolder(ground, (folder) => startServersTwice(folder, nats))
    if (round === 0) continue
    ours.first.push(times[0]!)
    ours.again.push(times[1]!)
    alone.first.push(bare[0]!)
    alone.again.push(bare[1]!)
  }
  const what = (folder: string) => `npm start on ${folder} / PostgreSQL and NATS alone, until ready`
  report.figure(
    ratioFigure({
      what: what('an empty folder'),
      ours: ours.first,
      baseline: alone.first,
      unit: 'ms',
      ...{ better: 'less', floor: 3, aim: 1.5 },
    }),
  )
  // No goal: two servers that only open their files answer before npm has read its configuration.
  report.figure(
    ratioFigure({
      ...{ what: what('existing data'), ours: ours.again, baseline: alone.again, unit: 'ms', better: 'less' },
    }),
  )
}

async function inFolder<T>(ground: Ground, work: (folder: string, inner: Ground) => Promise<T>): Promise<T> {
  const inner = createGround()
  const leave = ground.onLeave(inner.leave)
  try {
    return await work(await temporaryFolder(inner), inner)
  } finally {
    await leave()
  }
}

async function startServersTwice(folder: string, binary: string): Promise<number[]> {
  const times: number[] = []
  await mkdir(join(folder, 'nats'))
  for (let start = 0; start < 2; start++) {
    const [postgresPort, natsPort] = await Promise.all([freePort(), freePort()])
    const startedAt = performance.now()
    const [postgres, nats] = await Promise.all([
      startPostgres({ dataDirectory: join(folder, 'postgres'), port: postgresPort, durable: true }),
      startNatsServer({ binary, directory: join(folder, 'nats'), port: natsPort, password: 'bench' }),
    ])
    await Promise.all([postgresReady(postgresPort), natsReady(natsPort)])
    times.push(performance.now() - startedAt)
    await Promise.all([postgres.stop(), nats.stop()])
  }
  return times
}
