import { differences } from './audit'

test.each<[string, Record<string, unknown>, Record<string, unknown>, object]>([
  ['nothing new', { a: 1, b: [1, 2], c: undefined }, { a: 1, b: [1, 2], c: null }, {}],
  ['a new value', { a: 1, b: 2 }, { a: 1, b: 3 }, { b: { from: 2, to: 3 } }],
  ['what is made', {}, { a: false, b: undefined }, { a: { from: null, to: false } }],
  ['what is deleted', { a: 'x' }, {}, { a: { from: 'x', to: null } }],
  ['a list', { a: ['x'] }, { a: ['x', 'y'] }, { a: { from: ['x'], to: ['x', 'y'] } }],
])('%s', (_name, before, after, changes) => expect(differences(before, after)).toEqual(changes))
