import { Injectable, NotFoundException } from '@nestjs/common';

const PARCELS = new Map([
  [1, 'Kettle'],
  [2, 'Teapot'],
]);

@Injectable()
export class ParcelsService {
  find(id: number): { id: number; content: string } {
    const content = PARCELS.get(id);
    if (content === undefined) throw new NotFoundException(`No parcel ${id}`);
    return { id, content };
  }
}
