import { HealthDefinition } from '@leadwire/contracts'
import { createChannel, createClient } from 'nice-grpc'
import { ServerReflectionService } from 'nice-grpc-server-reflection'
import { createGrpcServer, createLifecycle, createLogger } from '../index'

const { requestDeserialize: parseRequest } = ServerReflectionService.serverReflectionInfo
const LIST_SERVICES = Buffer.from([0x3a, 0])
const describeSymbol = (name: string) => Buffer.from(`\x22${String.fromCharCode(name.length)}${name}`)

test('health is listed and described, so that tools need no files to ask for it', async () => {
  const logger = createLogger({ service: 'spec', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const server = createGrpcServer({ logger, lifecycle, tokens: [] })
  const channel = createChannel(`127.0.0.1:${await server.listen({ host: '127.0.0.1', port: 0 })}`)
  const client = createClient(ServerReflectionService, channel)
  const requests = async function* () {
    for (const bytes of [LIST_SERVICES, describeSymbol(HealthDefinition.fullName)]) yield parseRequest(bytes)
  }
  const responses: object[] = []
  for await (const response of client.serverReflectionInfo(requests())) responses.push(response.toObject())
  expect(responses).toEqual([
    expect.objectContaining({
      listServicesResponse: { serviceList: [{ name: HealthDefinition.fullName }] },
    }),
    expect.objectContaining({
      fileDescriptorResponse: { fileDescriptorProtoList: [expect.anything()] },
    }),
  ])
  channel.close()
  await lifecycle.stop()
})
