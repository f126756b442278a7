import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Logger,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { ParcelsService } from './parcels.service.js';

@Injectable()
class ClosedGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<{ query: { closed?: string } }>().query.closed === undefined;
  }
}

@Injectable()
class EnvelopeInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

@Controller('parcels')
@UseGuards(ClosedGuard)
@UseInterceptors(EnvelopeInterceptor)
export class ParcelsController {
  private readonly logger = new Logger(ParcelsController.name);

  constructor(private readonly parcels: ParcelsService) {}

  @Get(':id')
  find(@Param('id', ParseIntPipe) id: number): { id: number; content: string } {
    this.logger.warn(`Parcel ${id} is asked for`);
    return this.parcels.find(id);
  }
}
