import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { serviceCommand } from '@leadwire/embedded'

/**
 * Returns the settings with which a service migrates a database. Only DATABASE_URL matters. The other
 * settings are required, but not used.
 */
export const settingsToMigrate = (url: string): NodeJS.ProcessEnv => ({
  ...process.env,
  DATABASE_URL: url,
  NATS_URL: 'nats://user:password@127.0.0.1:9',
  ASSETS_URL: 'http://127.0.0.1:9',
  HEALTH_PORT: '1',
  GRPC_PORT: '2',
  SERVICE_TOKEN: 'a-token-for-this-spec',
  ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
  WEBHOOK_SERVICE_URL: '127.0.0.1:9',
  FILES_SERVICE_URL: 'http://127.0.0.1:9',
  SMTP_URL: 'smtp://127.0.0.1:9',
  SMTP_FROM: 'leads@example.com',
})

/**
 * Migrates a database to the schema of the release in `root`, as a deployment does before it replaces the
 * services. Default: the release of this checkout.
 */
export const migrate = async (
  service: 'leads-service' | 'webhook-service',
  env: NodeJS.ProcessEnv,
  root?: string,
): Promise<void> => {
  const { command, args } = serviceCommand(service, ['--migrate'], root)
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${service} --migrate ended with ${signal ?? `exit code ${code}`}`)
}
