// Plain JavaScript without dependencies, because tools/bootstrap.mjs reads the options before anything is
// installed or built.
const { parseArgs } = require('node:util')

const usage = `npm start -- [options]
  --replicas N       run N copies of each service (default: 1)
  --webhook-url URL  send the demo account's webhooks to this address
  --minio            store files in MinIO instead of a folder
  --tls              use TLS between services and servers, with new certificates at each start
  --watch            rebuild and restart services when their sources change (npm run dev)
  --inspect          open debugger ports: gateway 9229, leads-service 9230, files-service 9231,
                     webhook-service 9232
  --help             print this help
Environment: PORT (default 3000), HOST (127.0.0.1), LEADWIRE_DATA (.data), and all settings of the services.
With another HOST, set PUBLIC_URL to the address that clients use. Events and links contain this address.
LEADWIRE_DATA contains all data. Only one stack can use the folder at a time. To delete the data, stop the stack
and remove the folder. If root starts Leadwire in a folder that other users can't read, PostgreSQL's programs are
copied to /var/lib/leadwire. You can remove this folder too.
`

/**
 * Reads the options on the command line. Does not read the environment, whose settings the services check.
 * @param {string[]} args
 * @returns {{replicas: number, webhookUrl: string | undefined, minio: boolean, tls: boolean, watch: boolean,
 * inspect: boolean, help: boolean}}
 * @throws an Error with one line for each invalid option
 */
const readOptions = (args) => {
  const { values } = parseArgs({
    args,
    options: {
      replicas: { type: 'string', default: '1' },
      'webhook-url': { type: 'string' },
      minio: { type: 'boolean', default: false },
      tls: { type: 'boolean', default: false },
      watch: { type: 'boolean', default: false },
      inspect: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const { replicas, 'webhook-url': webhookUrl, ...switches } = values
  const errors = []
  if (!/^\d+$/.test(replicas) || Number(replicas) < 1 || Number(replicas) > 32) {
    errors.push(`--replicas must be an integer from 1 to 32, not "${replicas}"`)
  }
  if (webhookUrl !== undefined && !(/^https?:/.test(webhookUrl) && URL.canParse(webhookUrl))) {
    errors.push(`--webhook-url must be an http or https address, not "${webhookUrl}"`)
  }
  if (switches.inspect && replicas !== '1') errors.push('--inspect needs --replicas 1')
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return { replicas: Number(replicas), webhookUrl, ...switches }
}

/**
 * Reads the options. With --help, prints the help and exits with 0. If an option is invalid, prints the
 * errors and exits with 2.
 * @param {string[]} args
 */
const optionsOrExit = (args) => {
  try {
    const options = readOptions(args)
    if (!options.help) return options
    process.stdout.write(usage)
    return process.exit(0)
  } catch (error) {
    console.error(
      `${error instanceof Error ? error.message : error}\nRun "npm start -- --help" for the options.`,
    )
    return process.exit(2)
  }
}

module.exports = { optionsOrExit, readOptions, usage }
