// Plain JavaScript without dependencies: tools/bootstrap.mjs reads the options before anything is installed or built.
const { parseArgs } = require('node:util')

const usage = `npm start -- [options]
  --replicas N       run N copies of each service (1)
  --webhook-url URL  send the demo account's webhooks there
  --minio            keep files in MinIO instead of a folder
  --tls              encrypt what services and servers say to each other, with certificates made at each start
  --watch            build and restart services when their sources change (npm run dev)
  --inspect          let debuggers in: gateway 9229, leads-service 9230, files-service 9231, webhook-service 9232
  --help             print this
Environment: PORT (3000), HOST (127.0.0.1), LEADWIRE_DATA (.data), and every setting of the services.
All data is in LEADWIRE_DATA, and one stack at a time runs on it. To delete the data, stop the stack and remove the folder.
Started as root in a folder closed to others, PostgreSQL's programs are copied to /var/lib/leadwire, which may be removed too.
`

/**
 * What the command line asks for. Settings in the environment are the services' own, and checked by them.
 * @param {string[]} args
 * @returns {{replicas: number, webhookUrl: string | undefined, minio: boolean, tls: boolean, watch: boolean, inspect: boolean, help: boolean}}
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
  if (switches.inspect && replicas !== '1') errors.push('--inspect is for one copy of each service')
  if (errors.length > 0) throw new Error(errors.join('\n'))
  return { replicas: Number(replicas), webhookUrl, ...switches }
}

/**
 * The same for a program: prints the help and exits with 0, or what is wrong with the options and exits with 2.
 * @param {string[]} args
 */
const optionsOrExit = (args) => {
  try {
    const options = readOptions(args)
    if (!options.help) return options
    process.stdout.write(usage)
    return process.exit(0)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nnpm start -- --help lists the options.`)
    return process.exit(2)
  }
}

module.exports = { optionsOrExit, readOptions, usage }
