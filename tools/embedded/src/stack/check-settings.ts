import { startChild } from '../process/child'
import { planServices, type ServiceName, type ServicePlan, serviceCommand } from './services'
import type { StackOptions } from './stack-options'

type Fault = { service: ServiceName; setting: string; what: string }

/**
 * Asks each service whether it could be started with these settings. Where the servers will be is not known yet, and
 * is not the user's choice: any address stands for it.
 * @throws with one readable list of all faults
 */
export async function checkSettings(
  { host, port, minio }: StackOptions,
  env: NodeJS.ProcessEnv,
): Promise<void> {
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
    choosePort: async () => 1,
  })
  // What the user wrote, not what became of it.
  const given = { HOST: env['HOST'], PORT: env['PORT'] }
  const faults = await Promise.all(
    plans.map((plan) =>
      faultsOf(plan.service === 'gateway' ? { ...plan, env: { ...plan.env, ...given } } : plan),
    ),
  )
  if (faults.flat().length > 0) throw new Error(listOf(faults.flat()))
}

async function faultsOf({ service, name, env }: ServicePlan): Promise<Fault[]> {
  const child = await startChild({ ...serviceCommand(service, ['--check-settings']), name, env })
  const { code } = await child.exited
  if (code === 0) return []
  const lines = child.lastLines()
  const faults = lines.map(faultsIn).find((found) => found !== undefined)
  if (!faults) throw new Error([`${service} could not check its settings:`, ...lines].join('\n  '))
  return Object.entries(faults).map(([setting, what]) => ({ service, setting, what }))
}

function faultsIn(line: string): Record<string, string> | undefined {
  try {
    return (JSON.parse(line) as { faults?: Record<string, string> }).faults
  } catch {
    return undefined
  }
}

/** One line for each fault; services that share a setting share its line. */
function listOf(faults: Fault[]): string {
  const services = new Map<string, { fault: Fault; names: string[] }>()
  for (const fault of faults) {
    const key = JSON.stringify([fault.setting, fault.what])
    const names = services.get(key)?.names ?? []
    services.set(key, { fault, names: [...names, fault.service] })
  }
  const rows = [...services.values()].map(({ fault, names }) => [names.join(', '), fault.setting, fault.what])
  const width = (column: number) => Math.max(...rows.map((row) => row[column]!.length))
  const [first, second] = [width(0), width(1)]
  return [
    rows.length === 1 ? 'a setting is faulty.' : `${rows.length} settings are faulty.`,
    '',
    ...rows.map(([names, setting, what]) => `  ${names!.padEnd(first)}  ${setting!.padEnd(second)}  ${what}`),
  ].join('\n')
}
