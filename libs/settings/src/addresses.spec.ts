import { grpcTarget } from './addresses'
import { readConfig } from './config'

const read = (text: string) => readConfig({ TARGET: text }, { TARGET: grpcTarget() }).TARGET

test.each([
  'leads-service:4000',
  '127.0.0.1:4000',
  '[::1]:4000',
  'leads_service.internal.:4000',
  'leads-service',
  'dns:leads-service:4000',
  'dns:///leads-service:4000',
  'dns://10.0.0.2/leads-service:4000',
  'ipv4:127.0.0.1:4000,127.0.0.2:4000',
  'ipv6:[::1]:4000,[fd00::1]:4000',
  'unix:///run/leads',
  'unix:leads',
])('%s is a gRPC target', (text) => expect(read(text)).toBe(text))

test.each([
  'bad://x',
  'http://leads-service:4000',
  'dns://leads-service:4000',
  'dns:///',
  'leads-service:',
  'leads-service:http',
  'leads-service:0',
  'leads-service:65536',
  'a:4000,b:4000',
  'leads service:4000',
  'ipv4:leads-service:4000',
  'ipv4:127.0.0.1:4000,',
  'ipv6:127.0.0.1:4000',
  '[leads]:4000',
  'unix:',
])('%s is not a gRPC target', (text) => {
  expect(() => read(text)).toThrow(`TARGET: "${text}" is not a gRPC target such as dns:///leads-service:4000`)
})
