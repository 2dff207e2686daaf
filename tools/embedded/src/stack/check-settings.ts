import { startChild } from '../process/child'
import { planServices, type ServiceName, type ServicePlan, serviceCommand } from './services'
import type { StackOptions } from './stack-options'

type SettingError = { service: ServiceName; setting: string; what: string }

/**
 * Asks each service whether it could be started with these settings. Where the servers will be is not known yet, and
 * is not the user's choice: any address stands for it.
 * @throws with one readable list of all errors
 */
export async function checkSettings(
  { host, port, minio }: StackOptions,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  let lastPort = 0
  const plans = await planServices({
    replicas: 1,
    gateway: { host, port },
    databases: { leads: 'postgresql://leads', webhooks: 'postgresql://webhooks' },
    nats: 'nats://user:password@nats',
    serviceToken: 'a-token-for-this-check',
    encryptionKey: Buffer.alloc(32).toString('base64'),
    store: { STORE_URL: (!minio && env['STORE_URL']) || 'file:///files' },
    mail: '/mail',
    env,
    choosePort: async () => ++lastPort,
  })
  // What the user wrote, not what became of it.
  const given = { HOST: env['HOST'], PORT: env['PORT'] }
  const errors = await Promise.all(
    plans.map((plan) =>
      errorsOf(plan.service === 'gateway' ? { ...plan, env: { ...plan.env, ...given } } : plan),
    ),
  )
  if (errors.flat().length > 0) throw new Error(listOf(errors.flat()))
}

async function errorsOf({ service, name, env }: ServicePlan): Promise<SettingError[]> {
  const child = await startChild({ ...serviceCommand(service, ['--check-settings']), name, env })
  const { code } = await child.exited
  if (code === 0) return []
  const lines = child.lastLines()
  const errors = lines.map(errorsIn).find((found) => found !== undefined)
  if (!errors) throw new Error([`${service} could not check its settings:`, ...lines].join('\n  '))
  return Object.entries(errors).map(([setting, what]) => ({ service, setting, what }))
}

function errorsIn(line: string): Record<string, string> | undefined {
  try {
    return (JSON.parse(line) as { errors?: Record<string, string> }).errors
  } catch {
    return undefined
  }
}

/** One line for each error; services that share a setting share its line. */
function listOf(errors: SettingError[]): string {
  const services = new Map<string, { error: SettingError; names: string[] }>()
  for (const error of errors) {
    const key = JSON.stringify([error.setting, error.what])
    const names = services.get(key)?.names ?? []
    services.set(key, { error, names: [...names, error.service] })
  }
  const rows = [...services.values()].map(({ error, names }) => [names.join(', '), error.setting, error.what])
  const width = (column: number) => Math.max(...rows.map((row) => row[column]!.length))
  const [first, second] = [width(0), width(1)]
  return [
    rows.length === 1 ? 'a setting is invalid.' : `${rows.length} settings are invalid.`,
    '',
    ...rows.map(([names, setting, what]) => `  ${names!.padEnd(first)}  ${setting!.padEnd(second)}  ${what}`),
  ].join('\n')
}
