import { createEgressGuard } from './egress-guard'

const guard = createEgressGuard([])

test.each([
  ['this network', '0.0.0.0'],
  ['this network', '0.1.2.3'],
  ['private', '10.0.0.1'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['carrier-grade NAT', '100.127.255.254'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['link-local', '169.254.1.1'],
  ['metadata', '169.254.169.254'],
  ['Azure’s services', '168.63.129.16'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['protocol assignments', '192.0.0.8'],
  ['documentation', '192.0.2.1'],
  ['6to4 relay', '192.88.99.1'],
  ['private', '192.168.0.1'],
  ['benchmarking', '198.18.0.1'],
  ['benchmarking', '198.19.255.255'],
  ['documentation', '198.51.100.1'],
  ['documentation', '203.0.113.1'],
  ['multicast', '224.0.0.1'],
  ['multicast', '239.255.255.255'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['IPv4-compatible', '::127.0.0.1'],
  ['IPv4-compatible, public', '::8.8.8.8'],
  ['IPv4-mapped', '::ffff:127.0.0.1'],
  ['IPv4-mapped', '::ffff:a00:1'],
  ['IPv4-mapped, public', '::ffff:8.8.8.8'],
  ['IPv4-translated', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['NAT64, public', '64:ff9b::808:808'],
  ['NAT64, local', '64:ff9b:1::1'],
  ['discard', '100::1'],
  ['dummy', '100:0:0:1::1'],
  ['Teredo', '2001:0:4136:e378::1'],
  ['ORCHID', '2001:20::1'],
  ['IPv6 benchmarking', '2001:2::1'],
  ['documentation', '2001:db8::1'],
  ['6to4', '2002:7f00:1::1'],
  ['documentation', '3fff::1'],
  ['segment routing', '5f00::1'],
  ['unique local', 'fc00::1'],
  ['unique local', 'fd00:ec2::254'],
  ['link-local', 'fe80::1'],
  ['link-local with a scope', 'fe80::1%eth0'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['no address', 'example.com'],
  ['no address', '127.1'],
])('refuses %s: %s', (_, address) => {
  expect(guard(address, address)).toBe(false)
})

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '192.0.3.1',
  '2606:4700::1111',
  '2a00:1450::1',
])('allows %s', (address) => {
  expect(guard('example.com', address)).toBe(true)
})

test('allows configured addresses, ranges and names, and nothing else', () => {
  const allowing = createEgressGuard(['10.1.2.3', '192.168.7.0/24', '::1', 'fd00::/8', 'Hooks.Internal'])
  for (const address of ['10.1.2.3', '192.168.7.200', '::1', 'fd12::1']) {
    expect(allowing('any.example', address)).toBe(true)
  }
  for (const address of ['10.1.2.4', '192.168.8.1', '::2', '::ffff:10.1.2.3']) {
    expect(allowing('any.example', address)).toBe(false)
  }
  expect(allowing('hooks.internal.', '10.9.9.9')).toBe(true)
  expect(allowing('not-hooks.internal', '10.9.9.9')).toBe(false)
})
