import { readOptions } from './options.cjs'

test('defaults', () => {
  expect(readOptions([])).toEqual({
    replicas: 1,
    webhookUrl: undefined,
    minio: false,
    tls: false,
    watch: false,
    inspect: false,
    help: false,
  })
})

test('reads all options', () => {
  const args = [
    '--replicas',
    '3',
    '--webhook-url',
    'http://localhost:9000/hook',
    '--minio',
    '--tls',
    '--watch',
    '--help',
  ]
  expect(readOptions(args)).toEqual({
    replicas: 3,
    webhookUrl: 'http://localhost:9000/hook',
    minio: true,
    tls: true,
    watch: true,
    inspect: false,
    help: true,
  })
})

test('reports all errors at once, and names an unknown option', () => {
  const read = () => readOptions(['--replicas', '0', '--webhook-url', 'ftp://x'])
  expect(read).toThrow(/^--replicas must be .*\n--webhook-url must be/)
  expect(() => readOptions(['--replica', '2'])).toThrow(`'--replica'`)
  expect(() => readOptions(['--replicas', '2', '--inspect'])).toThrow('--inspect needs --replicas 1')
})
