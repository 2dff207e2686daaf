import {
  getCountries,
  getCountryCallingCode,
  getExampleNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { phoneKeys, phoneNumbers } from './phone-numbers'

const listLinks = (field: string) => phoneNumbers(field).map(({ link }) => link.replace('tel:', ''))

test.each(getCountries())('a number of %s is what it is with all that is known of countries', (country) => {
  const national = getExampleNumber(country, examples)!.nationalNumber
  const code = getCountryCallingCode(country)
  const spellings = [
    `+${code}${national}`,
    `00${code} ${national}`,
    `+${code} ${national.slice(0, 3)}-${national.slice(3)} ext. 12`,
  ]
  expect(spellings.map((spelling) => phoneNumbers(spelling).map(({ link }) => link))).toEqual(
    spellings.map((spelling) => [parsePhoneNumberFromString(spelling, 'GB')!.getURI()]),
  )
})

const ONE = '+442079460958'
const TWO = '+447700900555'

test.each<[field: string, ...links: string[]]>([
  ['020 7946 0958', ONE],
  ['(020) 7946-0958', ONE],
  ['020/7946/0958', ONE],
  ['020.7946.0958', ONE],
  ['020·7946·0958', ONE],
  ['020•7946•0958', ONE],
  ['+44 (0)20 7946 0958', ONE],
  ['+44 020 7946 0958', ONE],
  ['0044 20 7946 0958', ONE],
  ['44 20 7946 0958', ONE],
  ['2079460958', ONE],
  ['tel:+44-20-7946-0958', ONE],
  ['+44\u00a020\u20117946\u20110958', ONE],
  ['+44 1481 960123', '+441481960123'],
  ['01204 12345', '+44120412345'],
  ['0800 1111', '+448001111'],
  ['+1 212 555 0123', '+12125550123'],
  // Several numbers.
  ['07700 900555 / 020 7946 0958', TWO, ONE],
  ['07700900555/02079460958', TWO, ONE],
  ['07700 900555 or 020 7946 0958', TWO, ONE],
  ['07700 900555, 020 7946 0958', TWO, ONE],
  ['07700 900555;02079460958', TWO, ONE],
  ['447700900555,442079460958', TWO, ONE],
  ['+447700900555+442079460958', TWO, ONE],
  ['07700 900555 020 7946 0958', TWO, ONE],
  ['020 7946 0958 07700900555', ONE, TWO],
  ['07700900555 020 7946 0958 07700 900555', TWO, ONE, TWO],
  ['+44 7700 900555 / +1 212 555 0123', TWO, '+12125550123'],
  ['+41 79 123 45 67 / 68', '+41791234567'],
  // Other text.
  ['Office: 020 7946 0958 (ask for Jo)', ONE],
  ['(H) 020 7946 0958 (M) 07700 900555', ONE, TWO],
  ['Flat 2, 020 7946 0958', ONE],
  ['SW11 02079460958', ONE],
  ['24/7 020 7946 0958', ONE],
  ['020 7946 0958 after 6pm', ONE],
  ['020 7946 0958 9am-5pm', ONE],
  ['12/03/2026 02079460958', ONE],
  // Extensions.
  ['020 7946 0958 ext 12', `${ONE};ext=12`],
  ['020 7946 0958 x12 / 07700 900555', `${ONE};ext=12`, TWO],
  ['020 7946 0958, 12', `${ONE};ext=12`],
  ['tel:+44-20-7946-0958;ext=12', `${ONE};ext=12`],
  // Prefixes and calling codes that form widgets have doubled.
  ['++447700900555', TWO],
  ['＋＋447700900555', TWO],
  ['+ +44 7700 900555', TWO],
  ['+00447700900555', TWO],
  ['00+447700900555', TWO],
  ['0000447700900555', TWO],
  ['000447700900555', TWO],
  ['0447700900555', TWO],
  ['+0447700900555', TWO],
  ['++44 (0)7700 900555', TWO],
  ['+44447700900555', TWO],
  ['44447700900555', TWO],
  ['44 44 7700 900555', TWO],
  ['(+44) 44 7700 900555', TWO],
  ['+44-44-7700-900555', TWO],
  ['+44 44 44 7700 900555', TWO],
  ['+44 44 07700 900555', TWO],
  ['+4400447700900555', TWO],
  ['44 0044 7700 900555', TWO],
  ['+44 (0)44 7700 900555', TWO],
  ['+44 (0) 0044 7700 900555', TWO],
  ['+44+447700900555', TWO],
  ['+44++447700900555', TWO],
  ['tel:++447700900555', TWO],
  ['Mobile: ++44 7700 900555 (Jo)', TWO],
  ['++447700900555 ext 12', `${TWO};ext=12`],
  ['++447700900555 / +44442079460958', TWO, ONE],
  ['+44442079460958 or 07700 900555', ONE, TWO],
  ['++1 212 555 0123', '+12125550123'],
  ['+1 1 212 555 0123', '+12125550123'],
  ['++353 (0)87 123 4567', '+353871234567'],
  ['+353 353 87 123 4567', '+353871234567'],
  ['+44 00353 87 123 4567', '+353871234567'],
  ['+9191 98765 43210', '+919876543210'],
  ['+49 49 30 12345678', '+493012345678'],
  // Prefixes and codes that only seem doubled: area codes, and a national number after a plus sign.
  ['+46 46 12 34 56', '+4646123456'],
  ['+44 20 4420 4420', '+442044204420'],
  ['+44 1444 412345', '+441444412345'],
  ['+020 3456 0958', '+442034560958'],
  // Numbers that a spreadsheet has reformatted.
  ['447700900555.0', TWO],
  ['7700900555.00', TWO],
  ['4.47700900555E+11', TWO],
  ['="07700900555"', TWO],
  ['207946095.0', '+44207946095'],
  // Digits of other scripts.
  ['０２０７９４６０９５８', ONE],
  ['٠٢٠٧٩٤٦٠٩٥٨', ONE],
  ['۰۲۰۷۹۴۶۰۹۵۸', ONE],
  ['०२० ७९४६ ०९५८', ONE],
  // Invisible characters.
  ...['\ufeff', '\u200b', '\u200d', '\u2060', '\ufe0f', '\u3164'].map((unseen): [string, string] => [
    `0${unseen}20 7946${unseen}0958${unseen}`,
    ONE,
  ]),
  // Fields that contain no telephone number.
  ['999', '999'],
  ['118 500', '118500'],
  ['+44 999', '44999'],
  ['960123', '960123'],
  ['7946 0958', '79460958'],
  ['946 0958', '9460958'],
  ['0770090055512', '0770090055512'],
  ['00000000000', '00000000000'],
  ['4.47701E+11', '44770111'],
  ['4.4770090055E+11', '4477009005511'],
  ['no. १', '1'],
  ['+44444444', '44444444'],
  ['++44 999', '44999'],
  ['0044 0044', '00440044'],
])('%j is %s %s %s', (field, ...links) => {
  expect(listLinks(field)).toEqual(links)
})

test.each([
  ['020 7946 0958 ext 12', [ONE]],
  ['07700 900555 / 020 7946 0958', [TWO, ONE]],
  ['999', ['999']],
  ['٩٩٩', ['999']],
])('the keys of %j are %j, also when its link is known', (field, keys) => {
  const numbers = phoneNumbers(field)
  expect(numbers.map(({ key }) => key)).toEqual(keys)
  expect(phoneKeys(field, numbers[0].link)).toEqual(keys)
})

test('a number is read again when its link was made by a release that did not find it', () => {
  expect(phoneKeys('+44447700900555', 'tel:44447700900555')).toEqual([TWO])
})
