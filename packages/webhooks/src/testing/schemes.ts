export { SCHEMES } from '../schemes/schemes.ts'
