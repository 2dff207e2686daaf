import { readOptions } from './options'

test('defaults', () => {
  expect(readOptions([], {})).toMatchObject({ host: '127.0.0.1', port: 3000, replicas: 1, minio: false })
})

test('what the environment and the command line say', () => {
  const args = ['--replicas', '3', '--webhook-url', 'http://localhost:9000/hook', '--minio']
  expect(readOptions(args, { PORT: '4000', HOST: '0.0.0.0', LEADWIRE_DATA: '/srv/data' })).toEqual({
    data: '/srv/data',
    host: '0.0.0.0',
    port: 4000,
    replicas: 3,
    webhookUrl: 'http://localhost:9000/hook',
    minio: true,
  })
})

test('every fault at once', () => {
  const read = () => readOptions(['--replicas', '0', '--webhook-url', 'ftp://x'], { PORT: 'http' })
  expect(read).toThrow(/PORT must be .*\n--replicas must be .*\n--webhook-url must be/)
  expect(() => readOptions(['--replica', '2'], {})).toThrow('--replica')
})
