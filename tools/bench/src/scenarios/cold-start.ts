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
import type { Cleanups } from '../process/cleanups'
import type { Report } from '../report/report'
import { runInFolder } from '../stack/run-in-folder'
import { startStack } from '../stack/start-stack'

/**
 * Measures how long `npm start` takes in an empty folder until everything serves requests. Compares this time
 * with the start of PostgreSQL and nats-server alone.
 */
export const measureColdStart = async ({
  options,
  report,
  cleanups,
}: {
  options: Options
  report: Report
  cleanups: Cleanups
}): Promise<void> => {
  const nats = await findNatsServer(process.env)
  const startWhole = () =>
    runInFolder(cleanups, async (folder, inner) => {
      const stack = await startStack({ cleanups: inner, folder, throughNpm: true })
      return stack.startedInMs
    })
  const startServersAlone = () => runInFolder(cleanups, (folder) => timeServers(folder, nats))
  // The first start of each contender is not measured, because it fills the system's file cache.
  await startWhole()
  await startServersAlone()
  const ours: number[] = []
  const baseline: number[] = []
  for (let round = 0; round < options.rounds; round++) {
    ours.push(await startWhole())
    baseline.push(await startServersAlone())
  }
  report.addRatio({
    what: 'npm start on an empty folder / PostgreSQL and NATS alone, until ready',
    ours,
    baseline,
    unit: 'ms',
    better: 'less',
    floor: 3,
    aim: 1.5,
  })
}

/** Starts PostgreSQL and nats-server, and stops them. Returns the milliseconds until both were ready. */
const timeServers = async (folder: string, binary: string): Promise<number> => {
  await mkdir(join(folder, 'nats'))
  const [postgresPort, natsPort] = await Promise.all([freePort(), freePort()])
  const startedAt = performance.now()
  const [postgres, nats] = await Promise.all([
    startPostgres({ dataDirectory: join(folder, 'postgres'), port: postgresPort, durable: true }),
    startNatsServer({ binary, directory: join(folder, 'nats'), port: natsPort, password: 'bench' }),
  ])
  await Promise.all([postgresReady(postgresPort), natsReady(natsPort)])
  const elapsed = performance.now() - startedAt
  await Promise.all([postgres.stop(), nats.stop()])
  return elapsed
}
