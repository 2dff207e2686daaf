import { parseArgs } from 'node:util'
import { dataDirectory } from '../paths'

export type StackOptions = {
  data: string
  host: string
  port: number
  replicas: number
  webhookUrl: string | undefined
  minio: boolean
}

export const usage = `npm start -- [options]
  --replicas N       run N copies of each service (1)
  --webhook-url URL  send the demo account's webhooks there
  --minio            keep files in MinIO instead of a folder
Environment: PORT (3000), HOST (127.0.0.1), LEADWIRE_DATA (.data), and every setting of the services.`

/** @throws an Error whose message lists every fault at once */
export function readOptions(args: string[], env: NodeJS.ProcessEnv): StackOptions {
  const { values } = parseArgs({
    args,
    options: {
      replicas: { type: 'string', default: '1' },
      'webhook-url': { type: 'string' },
      minio: { type: 'boolean', default: false },
    },
  })
  const faults: string[] = []
  const integer = (name: string, text: string, least: number, most: number) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < least || value > most) {
      faults.push(`${name} must be an integer from ${least} to ${most}, not "${text}"`)
    }
    return value
  }
  const port = integer('PORT', env['PORT'] || '3000', 1, 65_535)
  const replicas = integer('--replicas', values.replicas, 1, 32)
  const webhookUrl = values['webhook-url']
  if (webhookUrl !== undefined && !(/^https?:/.test(webhookUrl) && URL.canParse(webhookUrl))) {
    faults.push(`--webhook-url must be an http or https address, not "${webhookUrl}"`)
  }
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return {
    data: dataDirectory(env),
    host: env['HOST'] || '127.0.0.1',
    port,
    replicas,
    webhookUrl,
    minio: values.minio,
  }
}
