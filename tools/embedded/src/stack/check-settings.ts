import { startChild } from '../process/child'
import { planServices, type ServiceName, type ServicePlan, serviceCommand } from './services'
import type { StackOptions } from './stack-options'

type SettingError = { service: ServiceName; setting: string; what: string }

/**
 * Lets each service check its settings. Uses placeholders for the addresses of the servers, which are not
 * known yet and which the user does not choose.
 * @throws an error with a list of all invalid settings
 */
export async function checkSettings({ minio }: StackOptions, env: NodeJS.ProcessEnv): Promise<void> {
  let lastPort = 0
  const plans = await planServices({
    replicas: 1,
    gateway: { host: '127.0.0.1', port: 3000 },
    databases: { leads: 'postgresql://leads', webhooks: 'postgresql://webhooks' },
    nats: 'nats://user:password@nats',
    serviceToken: 'a-token-for-this-check',
    encryptionKey: Buffer.alloc(32).toString('base64'),
    store: { STORE_URL: (!minio && env['STORE_URL']) || 'file:///files' },
    mail: '/mail',
    env,
    choosePort: async () => {
      lastPort += 1
      return lastPort
    },
  })
  // Checks HOST and PORT as the user has set them, in place of the placeholders in the plan.
  const given = { HOST: env['HOST'], PORT: env['PORT'] }
  const errors = await Promise.all(
    plans.map((plan) =>
      findErrors(plan.service === 'gateway' ? { ...plan, env: { ...plan.env, ...given } } : plan),
    ),
  )
  if (errors.flat().length > 0) throw new Error(renderErrors(errors.flat()))
}

async function findErrors({ service, name, env }: ServicePlan): Promise<SettingError[]> {
  const child = await startChild({ ...serviceCommand(service, ['--check-settings']), name, env })
  const { code } = await child.exited
  if (code === 0) return []
  const lines = child.lastLines()
  const errors = lines.map(parseErrors).find((found) => found !== undefined)
  if (!errors) throw new Error([`${service} could not check its settings:`, ...lines].join('\n  '))
  return Object.entries(errors).map(([setting, what]) => ({ service, setting, what }))
}

function parseErrors(line: string): Record<string, string> | undefined {
  try {
    return (JSON.parse(line) as { errors?: Record<string, string> }).errors
  } catch {
    return undefined
  }
}

/** Renders one line for each error. Services with the same error share a line. */
function renderErrors(errors: SettingError[]): string {
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
