export { columnsOf, statement, theRow } from '@leadwire/service-kit'
