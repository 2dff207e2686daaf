import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, type NatsServer, type ServicesTls, startNatsServer } from '@leadwire/embedded'
import { fromGlobalSetup } from './environment'
import { type Hardship, hardship, thaw } from './hardship'
import { watchProcess } from './watch-process'

export type TestNats = Omit<Hardship, 'restart'> & {
  url: string
  /** A file with the authority that signed the server's certificate. undefined without TLS. */
  caFile: string | undefined
  /**
   * Stops the server if it runs, and starts it again at the same address. Keeps the store, unless `empty` is
   * true. `password` is the new password. By default the server gets its first password again.
   */
  restart(options?: { empty?: boolean; password?: string }): Promise<void>
  /** Stops the server and removes its store. */
  stop(): Promise<void>
}

/** Starts a nats-server with JetStream for this spec file alone. With `tls`, clients must use TLS. */
export async function startNats({ tls }: { tls?: ServicesTls | undefined } = {}): Promise<TestNats> {
  const binary = fromGlobalSetup('LEADWIRE_TEST_NATS_SERVER')
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-nats-'))
  const port = await freePort()
  const start = async (password = 'spec') =>
    watchProcess(await startNatsServer({ binary, directory, port, password, tls }))
  let server: NatsServer = await start()

  const restart = async ({ empty = false, password }: { empty?: boolean; password?: string } = {}) => {
    if (!server.hasExited()) await server.stop()
    if (empty) await rm(join(directory, 'jetstream'), { recursive: true, force: true })
    server = await start(password)
  }
  const stop = async () => {
    await thaw(server)
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
  const suffer = hardship({ start: restart, current: () => server })
  return { url: server.url, caFile: tls?.caFile, ...suffer, restart, stop }
}
